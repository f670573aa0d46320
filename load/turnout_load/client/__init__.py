"""The HTTP client: connections that stamp arrivals, the event stream, one request's course."""

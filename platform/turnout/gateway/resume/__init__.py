"""Going on elsewhere with a stream that broke off, so that its client does not notice. Pure."""

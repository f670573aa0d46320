"""What a run leaves for people: one page of HTML, a Markdown summary, a row per request."""

"""Pages for a browser: the review page with its server, the library and a model's run."""

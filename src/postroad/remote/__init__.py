"""Roads that another process serves: the same verbs, as requests to its API."""

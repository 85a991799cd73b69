"""Pages for people: templates over the API's own verbs."""

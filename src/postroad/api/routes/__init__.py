"""One file a group of routes; each ends in its list, ROUTES."""

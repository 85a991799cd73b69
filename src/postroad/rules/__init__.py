"""Answer rules: what certain answers of certain servers do. Rules are data, compiled once."""

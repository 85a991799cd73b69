"""Ways in beside login links: an OpenID provider, and a proxy that names the person."""

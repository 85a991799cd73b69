"""Mail by SMTP: through a relay, or straight to the servers of each domain."""

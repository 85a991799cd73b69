"""The fleet's store: PostgreSQL 15 or newer, many processes, one owner a lane."""

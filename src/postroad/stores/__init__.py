"""Stores: the truth on disk, one folder per database."""

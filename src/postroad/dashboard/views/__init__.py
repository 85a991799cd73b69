"""The pages, one file each; a new one is added to PAGES in dashboard/pages.py."""

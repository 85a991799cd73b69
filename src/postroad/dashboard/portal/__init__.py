"""The portal: a small page where the customers of one tenant look after their own endpoints."""

-- Still the hub, which nobody can change before this transaction ends; answers the time.
update postroad.hub set beat_at = postroad.now_ms() where holder = $1 returning beat_at

-- Be the hub in place of one that has said nothing since; it is told so.
update postroad.hub set holder = $1, name = $2, beat_at = postroad.now_ms()
 where holder = $3 and beat_at = $4
returning pg_notify('postroad', '{"hub": true}')

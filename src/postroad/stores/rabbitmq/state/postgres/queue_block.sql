-- A queue's hold-off from now on; an empty kind lifts it.
update postroad.queue set block_kind = $2, block_until = $3, block_reason = $4, block_streak = $5,
                          block_since = $6
 where id = $1

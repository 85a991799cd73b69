-- Nothing is sent with a credential before a time.
update postroad.credential set blocked_until = $2, block_reason = $3, block_streak = $4 where id = $1

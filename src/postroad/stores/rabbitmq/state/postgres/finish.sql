-- No copy of a message is under way any more.
update postroad.broker_message set hop = greatest(hop, $2), starts = 0, done = 1, noted_at = $3
 where id = $1

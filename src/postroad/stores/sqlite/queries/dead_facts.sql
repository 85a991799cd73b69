-- What became of a dead message.
select queue_id, lane_id, reason, accepted_at, died_at, level, attempts from dead where id = ?1

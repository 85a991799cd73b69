-- What became of a schedule's ticks, in order of time.
select at, fate, message_id, decided_at from postroad.tick
 where schedule = $1 and at > $2 order by at limit $3

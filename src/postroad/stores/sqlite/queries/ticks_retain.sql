-- Notes of ticks that are older than finished work is kept.
delete from tick
 where (schedule, at) in (select schedule, at from tick where decided_at < ?1 limit ?2)

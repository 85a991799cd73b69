-- A new owner number for a process.
insert into postroad.process (beat_at, host, pid) values (postroad.now_ms(), $1, $2) returning id

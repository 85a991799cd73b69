-- A new owner number for a process.
insert into process (beat_at, host, pid) values (?1, ?2, ?3) returning id

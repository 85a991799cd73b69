-- A process that owns lanes from now on; one that was idle for long may have been forgotten.
insert into process (id, beat_at, host, pid) values (?1, ?2, ?3, ?4)
on conflict (id) do update set beat_at = excluded.beat_at

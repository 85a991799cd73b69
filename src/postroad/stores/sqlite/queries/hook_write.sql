-- Settings of a webhook queue from now on.
insert into webhook (queue_id, settings, key, sealed) values (?1, ?2, ?3, ?4)
on conflict (queue_id) do update
   set settings = excluded.settings, key = excluded.key, sealed = excluded.sealed

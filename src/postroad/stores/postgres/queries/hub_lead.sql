-- Be the hub, or stay it, unless another one was heard from lately; answers nothing then.
insert into postroad.hub (single, holder, name, beat_at) values (true, $1, $2, postroad.now_ms())
on conflict (single) do update
   set holder = excluded.holder, name = excluded.name, beat_at = excluded.beat_at
 where hub.holder = excluded.holder or hub.beat_at < excluded.beat_at - $3::bigint
returning holder

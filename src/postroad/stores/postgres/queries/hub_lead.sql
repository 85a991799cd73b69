-- Be the hub where none is, or stay it; answers nothing when another one is.
insert into postroad.hub (single, holder, name, beat_at) values (true, $1, $2, postroad.now_ms())
on conflict (single) do update set beat_at = excluded.beat_at
 where hub.holder = excluded.holder
returning holder

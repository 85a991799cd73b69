-- A wish to cancel is kept with its message: should the lane's owner die before it has heard or done
-- it, whoever finds that out does. And whoever waits for the slot of a message that its owner took out
-- of it is told.

alter table message add column unwanted int not null default 0;
create index message_unwanted on message (rung_id) where unwanted = 1;

-- Cancel messages that nobody owns, and ask the owners of the rest. Answers each one's state.
create or replace function cancel_v1(p_tenant text, p_ids bigint[]) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[];
  v_free bigint[];
  v_asked jsonb;
  v_states jsonb;
  v_rings jsonb := '[]';
begin
  v_lanes := array(select distinct (select r.lane_id from rung r where r.id = m.rung_id)
                     from message m where m.id = any (p_ids));
  perform from lane where id = any (v_lanes) order by id for share;
  with live as materialized (
    select m.id, r.lane_id, r.level, l.owner
      from (select id, rung_id from message where id = any (p_ids) offset 0) m
     cross join lateral (select lane_id, level, queue_id from rung where id = m.rung_id limit 1) r
     cross join lateral (select owner from lane where id = r.lane_id limit 1) l
     cross join lateral (select tenant from queue where id = r.queue_id limit 1) q
     where q.tenant = p_tenant)
  select array_agg(id) filter (where owner is null or level < 0),
         jsonb_agg(jsonb_build_array(owner, lane_id, 0, 0, 0, id)) filter (where owner is not null and level >= 0),
         jsonb_object_agg(id, case when owner is null or level < 0 then 'cancelled' else 'pending' end)
    into v_free, v_asked, v_states from live;
  update message set unwanted = 1
   where id = any (p_ids) and unwanted = 0 and coalesce(v_states, '{}') ->> id::text = 'pending';
  if v_free is not null then
    v_rings := bury_v1(v_free, null, now_ms());
  end if;
  return json_build_object(
    'now', now_ms(), 'rings', v_rings || coalesce(v_asked, '[]'),
    'states', coalesce(v_states, '{}') || (
      select coalesce(jsonb_object_agg(f.id, f.state), '{}') from (
        select h.id, case h.state when 'cancelled' then 'cancelled' else 'final' end as state, h.queue_id
          from history h where h.id = any (p_ids)
        union all
        select d.id, 'final', d.queue_id from dead d where d.id = any (p_ids)) f
       where (select q.tenant = p_tenant from queue q where q.id = f.queue_id)
         and not coalesce(v_states, '{}') ? f.id::text));
end $$;

-- The owner of a lane takes messages out of it.
create function withdraw_v2(p_owner bigint, p_lane bigint, p_epoch bigint, p_ids bigint[]) returns json
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
begin
  perform from lane where id = p_lane and owner = p_owner and epoch = p_epoch for share;
  if not found then
    return json_build_object('now', now_ms(), 'rings', '[]'::json, 'done', false);
  end if;
  return json_build_object('now', now_ms(), 'rings', bury_v1(p_ids, null, now_ms()), 'done', true);
end $$;

-- Free the lanes of owners that were not heard from; each has lost a lease.
create or replace function reap_v1(p_dead_after bigint) returns json language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_before bigint := now_ms() - p_dead_after;
  v_owner bigint;
  v_lanes bigint[];
  v_unwanted bigint[];
  v_lost int := 0;
  v_rings jsonb := '[]';
begin
  for v_owner in select id from process where owning and beat_at <= v_before order by id loop
    -- Its own beat waits for us from here on; one whose row is locked is about to give one.
    perform from process where id = v_owner and owning and beat_at <= v_before
      for update skip locked;
    continue when not found;
    v_lanes := array(select id from lane where owner = v_owner);
    perform lock_alone_v1(v_lanes);
    select coalesce(array_agg(x.id), '{}') into v_lanes from (
      select id from lane where id = any (v_lanes) and owner = v_owner order by id for no key update) x;
    update process
       set reaped = reaped + (cardinality(v_lanes) > 0)::int, owning = false, lanes = 0,
           asked_at = case when cardinality(v_lanes) > 0 then 0 else asked_at end
     where id = v_owner;
    update lane set owner = null, crashes = crashes + 1 where id = any (v_lanes);
    v_unwanted := array(
      select m.id from message m
       where m.unwanted = 1 and (select r.lane_id from rung r where r.id = m.rung_id) = any (v_lanes));
    if cardinality(v_unwanted) > 0 then
      v_rings := v_rings || bury_v1(v_unwanted, null, now_ms());
    end if;
    v_rings := v_rings || open_lanes_v1(v_lanes);
    v_lost := v_lost + cardinality(v_lanes);
  end loop;
  return json_build_object('now', now_ms(), 'lost', v_lost, 'rings', v_rings,
                           'owned', exists (select from process where owning));
end $$;

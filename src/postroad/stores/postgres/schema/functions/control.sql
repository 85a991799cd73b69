-- What people ask for: cancel, settle, pause, resume, unblock.

-- Cancel messages of lanes that nobody owns, and ask the owners of the others; returns the state of each. Those
-- to be cancelled are locked first: one that a late success finished meanwhile is final, and not cancelled.
-- History is searched only for what is not live.
create or replace function cancel(p_tenant text, p_ids bigint[], p_running boolean default false) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[];
  v_free bigint[];
  v_owned bigint[];
  v_rest bigint[];
  v_asked jsonb;
  v_batches bigint[];
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
  select coalesce(array_agg(id) filter (where owner is null or level < 0), '{}'),
         coalesce(array_agg(id) filter (where owner is not null and level >= 0), '{}'),
         jsonb_agg(jsonb_build_array(owner, lane_id, 0, 0, 0, case when p_running then -id else id end)) filter (where owner is not null and level >= 0)
    into v_free, v_owned, v_asked from live;
  update message set unwanted = 1 where id = any (v_owned) and unwanted = 0;
  v_free := array(select id from message where id = any (v_free) order by id for update);
  if cardinality(v_free) > 0 then
    v_batches := batches_of(v_free);
    v_rings := bury(v_free, null, now_ms());
  end if;
  v_rest := array(select unnest(p_ids) except select unnest(v_free || v_owned));
  return json_build_object(
    'now', now_ms(), 'rings', v_rings || coalesce(v_asked, '[]'), 'batches', coalesce(v_batches, '{}'),
    'states', (
      select coalesce(json_object_agg(s.id, s.state), '{}') from (
        select unnest(v_free) as id, 'cancelled' as state
        union all
        select unnest(v_owned), 'pending'
        union all
        select f.id, f.state from (
          select h.id, case h.state when 'cancelled' then 'cancelled' else 'final' end as state, h.queue_id
            from finished(v_rest) h
          union all
          select d.id, 'final', d.queue_id from dead d where d.id = any (v_rest)) f
         where (select q.tenant = p_tenant from queue q where q.id = f.queue_id)) s));
end $$;

-- Cancel the next slice of a queue's messages, or ('') of all of a tenant's, walking over the rungs. `after` is
-- where the next slice begins; null when this was the last.
create or replace function cancel_slice(p_tenant text, p_queue text, p_order_key text, p_before bigint,
                                        p_rung bigint, p_place bigint, p_id bigint, p_limit int)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  c_rungs constant int := 500;
  v_rungs bigint[];
  v_rung bigint;
  v_left int := p_limit;
  v_page record;
  v_ids bigint[] := '{}';
  v_after json;
begin
  if p_queue <> '' then
    v_rungs := array(select r.id from rung r
                      where r.queue_id = (select q.id from queue q where q.tenant = p_tenant and q.name = p_queue)
                        and r.id >= p_rung order by r.id limit c_rungs);
  else
    v_rungs := array(select r.id from rung r
                      where r.id >= p_rung and (select q.tenant = p_tenant from queue q where q.id = r.queue_id)
                      order by r.id limit c_rungs);
  end if;
  foreach v_rung in array v_rungs loop
    select count(*) as seen, (array_agg(m.place order by m.place desc, m.id desc))[1] as place,
           (array_agg(m.id order by m.place desc, m.id desc))[1] as id,
           array_agg(m.id) filter (where m.accepted_at < p_before
                                     and (p_order_key = '' or m.order_key = p_order_key)) as ids
      into v_page
      from (select place, id, accepted_at, order_key from message
             where rung_id = v_rung
               and (place, id) > (case when v_rung = p_rung then p_place else -4611686018427387904 end,
                                  case when v_rung = p_rung then p_id else 0 end)
             order by place, id limit v_left) m;
    v_ids := v_ids || coalesce(v_page.ids, '{}');
    v_left := v_left - v_page.seen;
    if v_left = 0 then
      v_after := json_build_object('rung', v_rung, 'place', v_page.place, 'id', v_page.id);
      exit;
    end if;
  end loop;
  if v_left > 0 and cardinality(v_rungs) = c_rungs then
    v_after := json_build_object('rung', v_rungs[c_rungs] + 1, 'place', -4611686018427387904, 'id', 0);
  end if;
  return (cancel(p_tenant, v_ids)::jsonb || jsonb_build_object('after', v_after))::json;
end $$;

-- Take cancelled messages out of a lane, as its owner.
create or replace function withdraw(p_owner bigint, p_lane bigint, p_epoch bigint, p_ids bigint[]) returns json
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_batches bigint[] := batches_of(p_ids);
begin
  perform from lane where id = p_lane and owner = p_owner and epoch = p_epoch for share;
  if not found then
    return json_build_object('now', now_ms(), 'rings', '[]'::json, 'done', false);
  end if;
  return json_build_object('now', now_ms(), 'rings', bury(p_ids, null, now_ms()), 'done', true,
                           'batches', v_batches);
end $$;

-- An uncertain message counts as delivered, or goes back to its rung and is due now. In an ordered queue those
-- behind it have gone already: it goes by itself, outside its order group.
create or replace function settle(p_tenant text, p_id bigint, p_sent boolean) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v record;
  v_now bigint := now_ms();
  v_rung bigint[];
  v_rings jsonb := '[]';
  v_batches jsonb := '[]';
begin
  -- Lanes before messages, as everybody locks them.
  perform from lane where id = (select r.lane_id from message m join rung r on r.id = m.rung_id
                                 where m.id = p_id) for share;
  select r.lane_id, r.queue_id, r.priority, m.level into v
    from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
   where m.id = p_id and r.level < 0 and q.tenant = p_tenant for update of m;
  if not found then
    return json_build_object('now', v_now, 'rings', v_rings, 'settled', false);
  end if;
  if p_sent then
    perform make_history_day(v_now / 86400000);
    with gone as (delete from message where id = p_id returning *)
    insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
    select id, v.queue_id, 'delivered', accepted_at, v_now, level, attempts, 0 from gone;
    v_batches := end_members(0, array[p_id], '{}', '{}');
  else
    v_rung := ensure_rungs(array[v.lane_id], array[v.queue_id], array[v.level], array[v.priority], array[0]);
    update message set rung_id = v_rung[1], place = v_now, due = v_now, marks = 0 where id = p_id;
    v_rings := wake_rungs(array[v.lane_id], v_rung, array[v_now]);
  end if;
  return json_build_object('now', v_now, 'rings', v_rings, 'settled', true, 'batches', v_batches);
end $$;

-- Pause or resume a queue. The time of the pause does not count towards a block's expiry.
create or replace function pause_queue(p_queue bigint, p_paused boolean) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[] := lock_queues(array[p_queue]);
  v_now bigint := now_ms();
begin
  if p_paused then
    update queue set paused_at = v_now where id = p_queue and paused_at = 0;
  else
    update queue
       set block_since = case when block_since > 0 then block_since + (v_now - paused_at) else 0 end,
           paused_at = 0, resumed_at = v_now
     where id = p_queue and paused_at > 0;
  end if;
  perform apply_blocks(array[p_queue]);
  return json_build_object('now', v_now, 'rings', touch_lanes(v_lanes));
end $$;

-- Lift a queue's block, also one that disabled it.
create or replace function unblock_queue(p_queue bigint) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[] := lock_queues(array[p_queue]);
begin
  update queue set block_kind = '', block_until = 0, block_reason = '', block_streak = 0, block_since = 0
   where id = p_queue;
  perform apply_blocks(array[p_queue]);
  return json_build_object('now', now_ms(), 'rings', touch_lanes(v_lanes));
end $$;

-- Pause or resume a lane. The time of the pause does not count towards the circuit's expiry.
create or replace function pause_lane(p_lane bigint, p_paused boolean) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
begin
  perform lock_exclusive(array[p_lane]);
  if p_paused then
    update lane set paused_at = v_now where id = p_lane and paused_at = 0;
  else
    update lane
       set circuit_since = case when circuit_since > 0 then circuit_since + (v_now - paused_at) else 0 end,
           paused_at = 0
     where id = p_lane and paused_at > 0;
  end if;
  return json_build_object('now', v_now, 'rings', touch_lanes(array[p_lane]));
end $$;

-- Hold a lane until a time, unless it is held or its circuit is open for longer; with 0 close a circuit whose time is over.
-- A back-off that is under way goes on afterwards where it was.
create or replace function hold_lane(p_lane bigint, p_until bigint, p_reason text) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
begin
  perform lock_exclusive(array[p_lane]);
  if p_until > 0 then
    update lane set circuit_strikes = 0, circuit_opened = greatest(circuit_opened, 1), circuit_until = p_until,
                    circuit_since = case when circuit_opened > 0 then circuit_since else v_now end,
                    circuit_reason = p_reason, circuit_early = p_until
     where id = p_lane and not (circuit_opened > 0 and circuit_until >= p_until);
  else
    update lane set circuit_strikes = 0, circuit_opened = 0, circuit_until = 0, circuit_since = 0,
                    circuit_reason = ''
     where id = p_lane and circuit_opened > 0 and circuit_until <= v_now;
  end if;
  return json_build_object('now', v_now, 'rings', case when found then touch_lanes(array[p_lane]) else '[]'::jsonb end);
end $$;

-- Close a lane's circuit, and lift the `unreachable` blocks of its queues.
create or replace function unblock_lane(p_lane bigint) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_queues bigint[] := array(select q.id from queue_lane ql join queue q on q.id = ql.queue_id
                              where ql.lane_id = p_lane and q.block_kind = 'unreachable');
  v_lanes bigint[] := array(select distinct lane_id from queue_lane where queue_id = any (v_queues));
begin
  perform lock_exclusive(v_lanes || p_lane);
  perform from lane where id = any (v_lanes || p_lane) order by id for no key update;
  update lane set circuit_strikes = 0, circuit_opened = 0, circuit_until = 0, circuit_since = 0,
                  circuit_reason = ''
   where id = p_lane;
  update queue set block_kind = '', block_until = 0, block_reason = '', block_streak = 0, block_since = 0
   where id = any (v_queues) and block_kind = 'unreachable';
  perform apply_blocks(v_queues);
  return json_build_object('now', now_ms(), 'rings',
                           touch_lanes(array(select distinct unnest(v_lanes || p_lane))));
end $$;

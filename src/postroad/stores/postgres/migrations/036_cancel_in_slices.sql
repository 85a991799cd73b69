-- All messages of a queue are cancelled by a walk in slices, and each is counted as what it became.

-- Cancel messages that nobody owns, and ask the owners of the rest. Answers each one's state. As before
-- (029), but that those which are to go are locked first: one that a late success finished meanwhile is
-- final, and not cancelled; and the past is searched only for what is not live.
create or replace function cancel_v1(p_tenant text, p_ids bigint[]) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[];
  v_free bigint[];
  v_owned bigint[];
  v_rest bigint[];
  v_asked jsonb;
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
         jsonb_agg(jsonb_build_array(owner, lane_id, 0, 0, 0, id)) filter (where owner is not null and level >= 0)
    into v_free, v_owned, v_asked from live;
  update message set unwanted = 1 where id = any (v_owned) and unwanted = 0;
  v_free := array(select id from message where id = any (v_free) order by id for update);
  if cardinality(v_free) > 0 then
    v_rings := bury_v1(v_free, null, now_ms());
  end if;
  v_rest := array(select unnest(p_ids) except select unnest(v_free || v_owned));
  return json_build_object(
    'now', now_ms(), 'rings', v_rings || coalesce(v_asked, '[]'),
    'states', (
      select coalesce(json_object_agg(s.id, s.state), '{}') from (
        select unnest(v_free) as id, 'cancelled' as state
        union all
        select unnest(v_owned), 'pending'
        union all
        select f.id, f.state from (
          select h.id, case h.state when 'cancelled' then 'cancelled' else 'final' end as state, h.queue_id
            from finished_v1(v_rest) h
          union all
          select d.id, 'final', d.queue_id from dead d where d.id = any (v_rest)) f
         where (select q.tenant = p_tenant from queue q where q.id = f.queue_id)) s));
end $$;

-- The next messages of a walk over the rungs of a queue, or ('') of all of a tenant's: those that are meant
-- are cancelled, or asked for. `after` is where the next slice begins; null when this was the last.
create function cancel_some_v1(p_tenant text, p_queue text, p_order_key text, p_before bigint,
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
  return (cancel_v1(p_tenant, v_ids)::jsonb || jsonb_build_object('after', v_after))::json;
end $$;

-- Free the lanes of owners that were not heard from; each has lost a lease. As before (025), but that what an
-- owner was asked to cancel is cancelled in slices before its lanes are freed: `wishes` says to come again.
create or replace function reap_v1(p_dead_after bigint) returns json language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_before bigint := now_ms() - p_dead_after;
  v_owner bigint;
  v_lanes bigint[];
  v_unwanted bigint[];
  v_lost int := 0;
  v_wishes int := 0;
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
    v_unwanted := array(
      select m.id from message m
       where m.unwanted = 1 and (select r.lane_id from rung r where r.id = m.rung_id) = any (v_lanes)
       limit 500);
    if cardinality(v_unwanted) > 0 then
      v_rings := v_rings || bury_v1(v_unwanted, null, now_ms());
      v_wishes := v_wishes + cardinality(v_unwanted);
      continue;
    end if;
    update process
       set reaped = reaped + (cardinality(v_lanes) > 0)::int, owning = false, lanes = 0,
           asked_at = case when cardinality(v_lanes) > 0 then 0 else asked_at end
     where id = v_owner;
    update lane set owner = null, crashes = crashes + 1 where id = any (v_lanes);
    v_rings := v_rings || open_lanes_v1(v_lanes);
    v_lost := v_lost + cardinality(v_lanes);
  end loop;
  return json_build_object('now', now_ms(), 'lost', v_lost, 'rings', v_rings, 'wishes', v_wishes,
                           'owned', exists (select from process where owning));
end $$;

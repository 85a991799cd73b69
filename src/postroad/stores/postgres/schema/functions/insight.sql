-- What is known about one message, queue or lane.

-- Stable, so that all of it is seen at one moment: else a message that dies meanwhile is dead without a try.
create or replace function message_facts(p_tenant text, p_id bigint) returns json language plpgsql stable
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
  v_tries json := tries_of(p_id);
  v_queue queue;
  v_at record;
  v_rest jsonb;
begin
  select * into v_at from (
    select 'live' as kind, m.accepted_at, r.queue_id, r.lane_id, jsonb_build_object('live', jsonb_build_object(
             'level', m.level, 'attempts', m.attempts, 'due_ms', m.due, 'expires_at_ms', m.expires_at,
             'uncertain', r.level < 0, 'held', r.held, 'starts', m.marks,
             'before', case when r.order_group = 0 then 0 else coalesce(
                (select b.id from message b where b.rung_id = r.id and (b.place, b.id) < (m.place, m.id)
                  order by b.place desc, b.id desc limit 1), 0) end,
             'others_due', others_due(r.lane_id, r.queue_id, greatest(m.due, v_now), m.id, r.id))) as rest
      from message m join rung r on r.id = m.rung_id where m.id = p_id
    union all
    select 'live', a.accepted_at, a.queue_id, a.lane_id, jsonb_build_object('live', jsonb_build_object(
             'level', 0, 'attempts', 0, 'due_ms', a.due, 'expires_at_ms', a.expires_at,
             'uncertain', false, 'held', '', 'before', 0, 'others_due', 0))
      from arrival a where a.id = p_id
    union all
    select 'dead', d.accepted_at, d.queue_id, d.lane_id, jsonb_build_object('ended', jsonb_build_object(
             'state', 'dead', 'at_ms', d.died_at, 'level', d.level, 'attempts', d.attempts,
             'reason', d.reason))
      from dead d where d.id = p_id
    union all
    select h.state, h.accepted_at, h.queue_id, null, jsonb_build_object('ended', jsonb_build_object(
             'state', h.state, 'at_ms', h.finished_at, 'level', h.level, 'attempts', h.attempts,
             'late', h.late), 'took', h.took_ms)
      from finished(array[p_id]) h
    limit 1) x;
  if v_at is null then
    return null;
  end if;
  select * into v_queue from queue where id = v_at.queue_id;
  if v_queue.tenant <> p_tenant then
    return null;
  end if;
  if v_at.kind = 'delivered' then  -- the try that delivered is the history row itself
    v_tries := v_tries::jsonb || jsonb_build_object(
      'number', v_at.rest -> 'ended' -> 'attempts', 'level', v_at.rest -> 'ended' -> 'level',
      'started_at_ms', (v_at.rest -> 'ended' ->> 'at_ms')::bigint - (v_at.rest ->> 'took')::bigint,
      'outcome', 'delivered', 'took_ms', v_at.rest -> 'took', 'error', '',
      'status', coalesce((select t.status from webhook_try t where t.message_id = p_id and t.outcome = 'delivered'
                           order by t.number desc limit 1), 0));
  end if;
  return v_at.rest || jsonb_build_object(
    'id', p_id, 'accepted_at_ms', v_at.accepted_at, 'queue', queue_json(v_queue),
    'paused_at_ms', v_queue.paused_at, 'tries', v_tries, 'lane', lane_json(v_at.lane_id));
end $$;

create or replace function queue_facts(p_tenant text, p_name text, p_most bigint) returns json language sql stable
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
  select json_build_object(
    'queue', queue_json(q), 'paused_at_ms', q.paused_at,
    'lanes', (select coalesce(json_agg(lane_json(ql.lane_id) order by ql.shard), '[]')
                from queue_lane ql where ql.queue_id = q.id),
    'tallies', tallies(array(select r.id from rung r where r.queue_id = q.id), p_most),
    'dead', (select count(*) from (select from dead d where d.queue_id = q.id limit p_most) c))
    from queue q where q.tenant = p_tenant and q.name = p_name
$$;

create or replace function lane_facts(p_lane bigint, p_most bigint) returns json language sql stable
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
  select json_build_object(
    'lane', lane_json(l.id),
    'queues', (select count(*) from (select from queue_lane ql where ql.lane_id = l.id limit p_most) c),
    'tallies', tallies(array(select r.id from rung r where r.lane_id = l.id), p_most))
    from lane l where l.id = p_lane
$$;

create or replace function tries_of(p_id bigint) returns json language sql stable
set search_path = postroad, pg_temp as $$
  select coalesce(json_agg(json_build_object(
           'number', number, 'started_at_ms', started_at, 'level', level, 'outcome', kind,
           'status', status, 'took_ms', took_ms, 'error', error) order by number), '[]')
    from attempt where message_id = p_id
$$;

create or replace function lane_json(p_lane bigint) returns json language sql stable as $$
  select json_build_object(
    'id', l.id, 'tenant', l.tenant, 'transport', l.transport, 'server', l.server, 'shard', l.shard,
    'circuit', json_build_object('strikes', l.circuit_strikes, 'opened', l.circuit_opened,
                                 'until_ms', l.circuit_until, 'since_ms', l.circuit_since,
                                 'reason', l.circuit_reason),
    'paused_at_ms', l.paused_at, 'crashes', l.crashes,
    'owner', case when l.owner is not null then json_build_object(
               'process', l.owner, 'host', coalesce(p.host, ''), 'pid', coalesce(p.pid, 0),
               'heard_at_ms', coalesce(p.beat_at, 0)) end)
    from lane l left join process p on p.id = l.owner where l.id = p_lane
$$;

-- How many other messages of a lane or queue can go by a time, up to 1,000. Of an order group only its head
-- can, and of the message's own order group none: they go one after the other.
create or replace function others_due(p_lane bigint, p_queue bigint, p_at bigint, p_id bigint, p_rung bigint)
returns bigint language sql stable as $$
  with near as materialized (
    select r.id, r.order_group from rung r
     where (r.lane_id = p_lane or r.queue_id = p_queue) and r.level >= 0 and r.blocked_until <= p_at)
  select count(*) from (
    select m.id from near n
     cross join lateral (select x.id from message x where x.rung_id = n.id and x.place <= p_at
                            and x.id <> p_id limit 1000) m where n.order_group = 0
    union all
    select n.id from near n
     where n.order_group > 0 and n.id <> p_rung
       and (select m.due from message m where m.rung_id = n.id order by m.place, m.id limit 1) <= p_at
    limit 1000) x
$$;

-- What waits in rungs, by lane, state, level (of the first of a rung) and what holds it; each rung up to a number.
create or replace function tallies(p_rungs bigint[], p_most bigint) returns json language sql stable as $$
  select coalesce(json_agg(t), '[]') from (
    select h.lane_id as lane,
           case when h.level < 0 then 'uncertain' when h.ends > now_ms() then 'held' else 'waiting' end as state,
           m.level, sum(c.n) as count, min(m.due) as oldest_due_ms,
           case when h.level >= 0 and h.ends > now_ms() then h.because else '' end as because
      from unnest(p_rungs) x(id)
     cross join lateral (select * from hold where rung_id = x.id limit 1) h
     cross join lateral (select level, due from message where rung_id = x.id order by place, id limit 1) m
     cross join lateral (select count(*) as n from (select from message where rung_id = x.id limit p_most) y) c
     group by 1, 2, 3, 6 order by 1, 2, 3, 6) t
$$;

-- The first rungs that have messages.
create or replace function busy_rungs(p_limit bigint) returns table (rung_id bigint) language sql stable
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
  with recursive busy(id, n) as (
    (select m.rung_id, 1 from message m order by m.rung_id limit 1)
    union all
    select (select m.rung_id from message m where m.rung_id > b.id order by m.rung_id limit 1), b.n + 1
      from busy b where b.id is not null and b.n < p_limit)
  select id from busy where id is not null
$$;

-- Unfinished messages of a tenant by transport, level and state, each counted up to a number: on the rungs of its
-- first queues and of those in trouble, and on the first rungs with messages.
create or replace function messages_looked_up(p_tenant text, p_now bigint, p_rungs bigint, p_most bigint)
returns table (transport text, level int, state text, n bigint, due bigint) language sql stable
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
  with looked as materialized (
    select rung_id from busy_rungs(p_rungs)
    union
    select r.id from (select id from queue where tenant = p_tenant order by name limit p_rungs) q
      join rung r on r.queue_id = q.id
    union
    select r.id from (select id from queue where tenant = p_tenant and (block_kind <> '' or paused_at > 0)
                       order by name limit p_rungs) q join rung r on r.queue_id = q.id
    union
    select r.id from (select id from lane where tenant = p_tenant and (circuit_opened > 0 or paused_at > 0)
                       order by id limit p_rungs) l join rung r on r.lane_id = l.id
    union
    (select id from rung where held <> '' limit p_rungs)
    union
    (select id from rung where level < 0 limit p_rungs))
  select g.transport, g.level, g.state, c.n, d.due
    from (select h.transport, greatest(h.level, 0) as level,
                 case when h.level < 0 then 'uncertain' when h.ends > p_now then 'held' else 'waiting' end as state,
                 array_agg(h.rung_id) as rungs
            from looked k cross join lateral (select * from hold where rung_id = k.rung_id limit 1) h
           where h.tenant = p_tenant group by 1, 2, 3) g
   cross join lateral (
     select count(*) as n from (
       select from unnest(g.rungs) x(id)
        cross join lateral (select from message m where m.rung_id = x.id limit p_most) m limit p_most) y) c
   cross join lateral (
     select min((select m.due from message m where m.rung_id = x.id order by m.place, m.id limit 1)) as due
       from unnest(g.rungs) x(id)) d
   where c.n > 0 order by 1, 2, 3
$$;

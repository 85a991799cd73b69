-- How messages get in.
--
-- The planner settings on these functions keep plans from flipping: the statistics of a table that is empty
-- most of the time make all plans look alike, and a record once took 9 s instead of 10 ms. They stand on the
-- functions, not on the session, because PgBouncer keeps no session.

-- r_: the rungs of this batch, each once, with its first due time and the number of its ordered messages.
-- m_: the messages; `of` is the place of the message's rung in r_, `nth` its place among the ordered messages
-- of that rung. Due and acceptance times that are the same for all messages come once; other columns
-- that have their usual values are empty. k_: uses of idempotency keys.
create or replace function accept(
  r_lane bigint[], r_queue bigint[], r_priority int[], r_order_group int[], r_due bigint[], r_count int[],
  m_id bigint[], m_of int[], m_nth int[], m_due bigint[], m_accepted bigint[], m_expires bigint[],
  m_order_key text[], m_headers bytea[], m_body bytea[],
  k_of int[], k_key text[], k_digest bytea[], k_ttl bigint[] default '{}')
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_rungs bigint[];
  v_base bigint[];
  v_seen jsonb := '[]';
  v_drop int[] := '{}';
begin
  perform lock_shared(r_lane);
  if cardinality(k_of) > 0 then
    v_seen := use_keys(r_queue, m_id, m_of, m_accepted, k_of, k_key, k_digest, k_ttl);
    v_drop := array(select (s.value ->> 0)::int from jsonb_array_elements(v_seen) s);
  end if;
  v_rungs := ensure_rungs(r_lane, r_queue, array_fill(0, array[cardinality(r_lane)]), r_priority, r_order_group);
  if cardinality(m_nth) > 0 then
    v_base := next_places(v_rungs, r_count);
  end if;
  insert into message (id, rung_id, place, due, level, accepted_at, expires_at, order_key, headers, body)
  select m.id, v_rungs[m.of],
         case when m.nth > 0 then v_base[m.of] + m.nth else coalesce(m.due, m_due[1]) end,
         coalesce(m.due, m_due[1]), 0, coalesce(m.accepted, m_accepted[1]),
         coalesce(m.expires, never()), coalesce(m.order_key, ''), coalesce(m.headers, ''), m.body
    from unnest(m_id, m_of, m_nth, m_due, m_accepted, m_expires, m_order_key, m_headers, m_body)
         with ordinality as m(id, of, nth, due, accepted, expires, order_key, headers, body, n)
   where m.n <> all (v_drop);
  if cardinality(m_headers) > 0 then
    perform note_recipients(m_id, r_queue, m_of, m_headers, v_drop);
  end if;
  return json_build_object('now', now_ms(), 'seen', v_seen, 'rings', wake_rungs(r_lane, v_rungs, r_due));
end $$;

-- Note the recipients that messages name in their headers, except those that were dropped as repetitions.
create or replace function note_recipients(m_id bigint[], r_queue bigint[], m_of int[], m_headers bytea[],
                                           p_drop int[])
returns void language sql as $$
  insert into postroad.message_recipient (message_id, queue_id, recipient)
  select m.id, r_queue[m.of], convert_from(m.headers, 'UTF8')::json ->> 'postroad-to'
    from unnest(m_id, m_of, m_headers) with ordinality as m(id, of, headers, n)
   where position('"postroad-to":'::bytea in m.headers) > 0 and m.n <> all (p_drop)
     and convert_from(m.headers, 'UTF8')::json ->> 'postroad-to' <> ''
  on conflict do nothing
$$;

-- Note idempotency keys that were not used within their time, a day if none is given; returns [of, first message, its digest] for the rest.
create or replace function use_keys(r_queue bigint[], m_id bigint[], m_of int[], m_accepted bigint[],
                                    k_of int[], k_key text[], k_digest bytea[], k_ttl bigint[])
returns jsonb language plpgsql as $$
declare
  v_now bigint := (select min(a) from unnest(m_accepted) a);
begin
  insert into idempotency as i (queue_id, key, message_id, digest, expires_at)
  select r_queue[m_of[k.of]], k.key, m_id[k.of], k.digest, coalesce(m_accepted[k.of], m_accepted[1]) + coalesce(k.ttl, 86400000)
    from unnest(k_of, k_key, k_digest, k_ttl) k(of, key, digest, ttl) order by 1, 2
  on conflict (queue_id, key) do update
     set message_id = excluded.message_id, digest = excluded.digest, expires_at = excluded.expires_at
   where i.expires_at <= v_now;
  return (
    select coalesce(jsonb_agg(jsonb_build_array(k.of, i.message_id, encode(i.digest, 'hex'))), '[]')
      from unnest(k_of, k_key, k_digest) k(of, key, digest)
     cross join lateral (select message_id, digest from idempotency
                          where queue_id = r_queue[m_of[k.of]] and key = k.key limit 1) i
     where i.message_id <> m_id[k.of]);
end $$;

-- Positions in order groups. They are given under a lock on the rung that lasts until the commit, so the order
-- of acceptance is the order of commit. Returns the position before the first one, for each rung.
create or replace function next_places(p_rung bigint[], p_count int[]) returns bigint[]
language plpgsql set enable_nestloop = off as $$
declare
  v_order_groups bigint[];
  v_base bigint[];
begin
  select array_agg(x.rung) into v_order_groups from unnest(p_rung, p_count) x(rung, n) where x.n > 0;
  perform from rung where id = any (v_order_groups) order by id for no key update;
  with bumped as (
    update rung r set last_place = r.last_place + x.n from unnest(p_rung, p_count) x(rung, n)
     where r.id = any (v_order_groups) and r.id = x.rung
    returning r.id, r.last_place - x.n as base)
  select array_agg(b.base order by x.i) into v_base
    from unnest(p_rung) with ordinality x(rung, i) left join bumped b on b.id = x.rung;
  return v_base;
end $$;

-- Cancel earlier messages with these keys that have not started, and note who follows them; p_last: the last one of
-- this batch with its key, which alone is stored. Returns for each of these what became of the earlier one, and when
-- the first of them was sent. What is due within 200 ms may be read already.
create or replace function replace_keys(p_queue bigint[], p_lane bigint[], p_key text[], p_id bigint[], p_accepted bigint[],
                                        p_due bigint[], p_last boolean[])
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint;
  v_old bigint[];
  v_free bigint[];
  v_rings jsonb := '[]';
  v_said json;
begin
  perform lock_shared(p_lane);
  insert into idempotency (queue_id, key, message_id, digest, expires_at)
  select x.queue, x.key, 0, '', x.due + 86400000
    from unnest(p_queue, p_key, p_due, p_last) x(queue, key, due, last) where x.last order by 1, 2
  on conflict do nothing;
  perform from idempotency i
     join unnest(p_queue, p_key, p_last) x(queue, key, last) on i.queue_id = x.queue and i.key = x.key and x.last
    order by i.queue_id, i.key for update of i;
  v_now := now_ms();  -- after the wait for others with these keys, in which the earlier ones may have started
  perform make_history_day(v_now / 86400000);
  v_old := array(select i.message_id from unnest(p_queue, p_key, p_last) x(queue, key, last)
                   join idempotency i on i.queue_id = x.queue and i.key = x.key where x.last and i.message_id > 0);
  v_free := coalesce(lock_messages(array(
    select m.id from message m where m.id = any (v_old) and m.due > v_now + 200 and m.attempts = 0 and m.marks = 0)), '{}');
  if cardinality(v_free) > 0 then
    v_rings := bury(v_free, null, v_now);
  end if;
  select coalesce(json_agg(json_build_array(
           x.id,
           case when i.message_id = any (v_free) then 'replaced'
                when exists (select from message m where m.id = i.message_id) then 'started' else '' end,
           case when i.message_id = any (v_free) then convert_from(i.digest, 'UTF8')::bigint else v_now end)), '[]')
    into v_said
    from unnest(p_queue, p_key, p_id, p_last) x(queue, key, id, last)
    join idempotency i on i.queue_id = x.queue and i.key = x.key where x.last;
  update idempotency i
     set message_id = x.id, expires_at = greatest(i.expires_at, x.due + 86400000),
         digest = case when i.message_id = any (v_free) then i.digest else convert_to(v_now::text, 'UTF8') end
    from unnest(p_queue, p_key, p_id, p_due, p_last) x(queue, key, id, due, last)
   where i.queue_id = x.queue and i.key = x.key and x.last;
  insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
  select x.id, x.queue, 'cancelled', x.accepted, v_now, 0, 0, 0
    from unnest(p_queue, p_id, p_accepted, p_last) x(queue, id, accepted, last) where not x.last;
  return json_build_object('now', v_now, 'rings', v_rings, 'said', v_said);
end $$;

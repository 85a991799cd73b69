-- How messages get in. The settings on these functions keep plans from flipping: statistics of a
-- table that is empty most of the time make every plan look alike, and a record once took 9 s
-- instead of 10 ms. They stand here, not on the session, because PgBouncer has none.

-- r_: the rungs of this batch, each once, with the first due time and the number of its ordered
-- messages. m_: the messages; `of` is the place of its rung in r_, `nth` its place among the ordered
-- ones of that rung. Due and acceptance times that are the same for all come once, other columns
-- that are as usual are empty. k_: first uses of keys.
create function accept_v1(
  r_lane bigint[], r_queue bigint[], r_priority int[], r_slot int[], r_due bigint[], r_count int[],
  m_id bigint[], m_of int[], m_nth int[], m_due bigint[], m_accepted bigint[], m_expires bigint[],
  m_order_key text[], m_headers bytea[], m_body bytea[],
  k_of int[], k_key text[], k_digest bytea[])
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_rungs bigint[];
  v_base bigint[];
  v_seen jsonb := '[]';
  v_drop int[] := '{}';
begin
  perform lock_shared_v1(r_lane);
  if cardinality(k_of) > 0 then
    v_seen := first_use_v1(r_queue, m_id, m_of, m_accepted, k_of, k_key, k_digest);
    v_drop := array(select (s.value ->> 0)::int from jsonb_array_elements(v_seen) s);
  end if;
  v_rungs := rungs_v1(r_lane, r_queue, array_fill(0, array[cardinality(r_lane)]), r_priority, r_slot);
  if cardinality(m_nth) > 0 then
    v_base := places_v1(v_rungs, r_count);
  end if;
  insert into message (id, rung_id, place, due, level, accepted_at, expires_at, order_key, headers, body)
  select m.id, v_rungs[m.of],
         case when m.nth > 0 then v_base[m.of] + m.nth else coalesce(m.due, m_due[1]) end,
         coalesce(m.due, m_due[1]), 0, coalesce(m.accepted, m_accepted[1]),
         coalesce(m.expires, never()), coalesce(m.order_key, ''), coalesce(m.headers, ''), m.body
    from unnest(m_id, m_of, m_nth, m_due, m_accepted, m_expires, m_order_key, m_headers, m_body)
         with ordinality as m(id, of, nth, due, accepted, expires, order_key, headers, body, n)
   where m.n <> all (v_drop);
  return json_build_object('now', now_ms(), 'seen', v_seen, 'rings', wake_v1(r_lane, v_rungs, r_due));
end $$;

-- Uses keys that were not used within their day; answers [of, first message, its digest] for the rest.
create function first_use_v1(r_queue bigint[], m_id bigint[], m_of int[], m_accepted bigint[],
                             k_of int[], k_key text[], k_digest bytea[])
returns jsonb language plpgsql as $$
begin
  insert into idempotency as i (queue_id, key, message_id, digest, expires_at)
  select r_queue[m_of[k.of]], k.key, m_id[k.of], k.digest, coalesce(m_accepted[k.of], m_accepted[1]) + 86400000
    from unnest(k_of, k_key, k_digest) k(of, key, digest) order by 1, 2
  on conflict (queue_id, key) do update
     set message_id = excluded.message_id, digest = excluded.digest, expires_at = excluded.expires_at
   where i.expires_at <= excluded.expires_at - 86400000;
  return (
    select coalesce(jsonb_agg(jsonb_build_array(k.of, i.message_id, encode(i.digest, 'hex'))), '[]')
      from unnest(k_of, k_key, k_digest) k(of, key, digest)
     cross join lateral (select message_id, digest from idempotency
                          where queue_id = r_queue[m_of[k.of]] and key = k.key limit 1) i
     where i.message_id <> m_id[k.of]);
end $$;

-- Positions in ordered slots: given under the lock on the rung until the commit, so that order of
-- acceptance is order of commit. Answers the position before the first one, rung by rung.
create function places_v1(p_rung bigint[], p_count int[]) returns bigint[]
language plpgsql set enable_nestloop = off as $$
declare
  v_slots bigint[];
  v_base bigint[];
begin
  select array_agg(x.rung) into v_slots from unnest(p_rung, p_count) x(rung, n) where x.n > 0;
  perform from rung where id = any (v_slots) order by id for no key update;
  with bumped as (
    update rung r set last_place = r.last_place + x.n from unnest(p_rung, p_count) x(rung, n)
     where r.id = any (v_slots) and r.id = x.rung
    returning r.id, r.last_place - x.n as base)
  select array_agg(b.base order by x.i) into v_base
    from unnest(p_rung) with ordinality x(rung, i) left join bumped b on b.id = x.rung;
  return v_base;
end $$;

create function queue_v1(q queue) returns json language sql stable as $$
  select json_build_object(
    'id', q.id, 'tenant', q.tenant, 'name', q.name, 'policy', q.policy,
    'lanes', (select json_agg(ql.lane_id order by ql.shard) from queue_lane ql where ql.queue_id = q.id),
    'block', case when q.block_kind <> '' then json_build_object(
               'kind', q.block_kind, 'until_ms', q.block_until, 'reason', q.block_reason,
               'streak', q.block_streak, 'since_ms', q.block_since) end,
    'paused', q.paused_at > 0, 'resumed_at_ms', q.resumed_at)
$$;

-- The queues of these specs, made with their lanes where they are new.
create function open_queues_v1(p_specs json) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_spec record;
  v_queue bigint;
  v_lane bigint;
  v_found json := '[]';
  v_all json[] := '{}';
begin
  for v_spec in
    select * from json_to_recordset(p_specs) as s(
      tenant text, name text, policy json, lane_tenant text, transport text, server text,
      credential text, shards int, pool text)
  loop
    select q.id into v_queue from queue q where q.tenant = v_spec.tenant and q.name = v_spec.name;
    if v_queue is null then
      perform pg_advisory_xact_lock(1383031140, 65);
      insert into queue (tenant, name, transport, policy)
      values (v_spec.tenant, v_spec.name, v_spec.transport, v_spec.policy)
      on conflict do nothing returning id into v_queue;
      if v_queue is not null then
        for v_shard in 0..v_spec.shards - 1 loop
          v_lane := lane_v1(v_spec.lane_tenant, v_spec.transport, v_spec.server, v_spec.credential,
                            v_shard, v_spec.pool);
          insert into queue_lane (queue_id, shard, lane_id) values (v_queue, v_shard, v_lane);
        end loop;
      end if;
    end if;
    update queue q set policy = v_spec.policy
     where q.tenant = v_spec.tenant and q.name = v_spec.name
       and q.policy::text <> v_spec.policy::text;
    select queue_v1(q) into v_found from queue q
     where q.tenant = v_spec.tenant and q.name = v_spec.name;
    v_all := v_all || v_found;
  end loop;
  return array_to_json(v_all);
end $$;

create function lane_v1(p_tenant text, p_transport text, p_server text, p_credential text, p_shard int,
                        p_pool text)
returns bigint language plpgsql as $$
declare
  v_lane bigint;
begin
  select id into v_lane from lane
   where tenant = p_tenant and transport = p_transport and server = p_server
     and credential = p_credential and shard = p_shard;
  if v_lane is null then
    insert into lane (tenant, transport, server, credential, shard, pool)
    values (p_tenant, p_transport, p_server, p_credential, p_shard, p_pool) returning id into v_lane;
    insert into lane_level (lane_id, level, pool, ready_at) values (v_lane, 0, p_pool, never());
  end if;
  return v_lane;
end $$;

create function find_queue_v1(p_tenant text, p_name text) returns json language sql stable
set search_path = postroad, pg_temp as $$
  select queue_v1(q) from queue q where q.tenant = p_tenant and q.name = p_name
$$;

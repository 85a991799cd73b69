-- Queues and their lanes.

-- The queues of these specs, made with their lanes where they are new. A queue that is deleted between the
-- first look and the last is made again.
create or replace function open_queues(p_specs json) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_spec record;
  v_queue bigint;
  v_lane bigint;
  v_found json;
  v_all json[] := '{}';
begin
  for v_spec in
    select * from json_to_recordset(p_specs) as s(
      tenant text, name text, policy json, lane_tenant text, transport text, server text,
      credential text, shards int, pool text)
  loop
    loop
      select q.id into v_queue from queue q where q.tenant = v_spec.tenant and q.name = v_spec.name;
      if v_queue is null then
        perform pg_advisory_xact_lock(1383031140, 65);
        insert into queue (tenant, name, transport, policy)
        values (v_spec.tenant, v_spec.name, v_spec.transport, v_spec.policy)
        on conflict do nothing returning id into v_queue;
        if v_queue is not null then
          for v_shard in 0..v_spec.shards - 1 loop
            v_lane := ensure_lane(v_spec.lane_tenant, v_spec.transport, v_spec.server, v_spec.credential,
                              v_shard, v_spec.pool);
            insert into queue_lane (queue_id, shard, lane_id) values (v_queue, v_shard, v_lane);
          end loop;
        end if;
      end if;
      update queue q set policy = v_spec.policy
       where q.tenant = v_spec.tenant and q.name = v_spec.name
         and q.policy::text <> v_spec.policy::text;
      select queue_json(q) into v_found from queue q
       where q.tenant = v_spec.tenant and q.name = v_spec.name;
      exit when v_found is not null;
    end loop;
    v_all := v_all || v_found;
  end loop;
  return array_to_json(v_all);
end $$;

-- The lane of this key, made where it is new.
create or replace function ensure_lane(p_tenant text, p_transport text, p_server text, p_credential text, p_shard int,
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
    insert into lane_level (lane_id, level, pool, tenant, ready_at)
    values (v_lane, 0, p_pool, p_tenant, never());
  end if;
  return v_lane;
end $$;

create or replace function find_queue(p_tenant text, p_name text) returns json language sql stable
set search_path = postroad, pg_temp as $$
  select queue_json(q) from queue q where q.tenant = p_tenant and q.name = p_name
$$;

-- A queue as the store reads it, with the ledgers that limit it.
create or replace function queue_json(q queue) returns json language sql stable as $$
  select json_build_object(
    'id', q.id, 'tenant', q.tenant, 'name', q.name, 'policy', q.policy,
    'lanes', (select json_agg(ql.lane_id order by ql.shard) from queue_lane ql where ql.queue_id = q.id),
    'block', case when q.block_kind <> '' then json_build_object(
               'kind', q.block_kind, 'until_ms', q.block_until, 'reason', q.block_reason,
               'streak', q.block_streak, 'since_ms', q.block_since) end,
    'paused', q.paused_at > 0, 'resumed_at_ms', q.resumed_at,
    'ledgers', coalesce(x.limits -> 0, '[]'), 'hours', coalesce(x.limits -> 1, '[]'))
    from (select case when exists (select from pace) then limits_of(q.id) end as limits) x
$$;

-- Words that the other functions use. A function keeps its meaning for ever: what changes gets a new
-- number in its name, so that old and new processes can work side by side.
--
-- Who waits for whom: locks are taken in the order buckets, lanes (by id), queues, messages, rungs
-- (ordered slots by id, then the others by id), lane levels (by lane). Each lane lies in one of 64 buckets, which are advisory locks:
-- who adds messages shares them, who claims or frees a lane, or raises the ready times of its
-- rungs, has them alone. So an enqueue never judges by an owner or a ready time that is about to
-- change, and nobody lays a rung to rest beside a message that is not yet committed. (Row locks on
-- the lanes, FOR KEY SHARE against FOR UPDATE, did the same; they cost up to twice the WAL, and who
-- has them alone starves beside a steady stream of sharers.)

create function never() returns bigint language sql immutable parallel safe
  return 4611686018427387904;

-- The one clock of the fleet.
create function now_ms() returns bigint language sql stable parallel safe
  as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint $$;

create function lock_shared_v1(p_lanes bigint[]) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(1383031140, x.bucket)
     from (select distinct (l.id & 63)::int as bucket from unnest(p_lanes) l(id) order by 1) x;
end $$;

create function lock_alone_v1(p_lanes bigint[]) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1383031140, x.bucket)
     from (select distinct (l.id & 63)::int as bucket from unnest(p_lanes) l(id) order by 1) x;
end $$;

-- A ring is [owner, lane, rung, level, at, recalled message]; without an owner it is for all pollers.
create function notify_v1(p_rings jsonb) returns void language plpgsql as $$
begin
  perform pg_notify('postroad', jsonb_build_object('rings', p_rings)::text);
end $$;

create function history_day_v1(p_day bigint) returns void language plpgsql as $$
begin
  if to_regclass('postroad.history_' || p_day) is not null then
    return;
  end if;
  perform pg_advisory_xact_lock(1383031140, 64);
  execute format('create table if not exists history_%s partition of history for values from (%s) to (%s)',
                 p_day, p_day * 86400000, (p_day + 1) * 86400000);
end $$;

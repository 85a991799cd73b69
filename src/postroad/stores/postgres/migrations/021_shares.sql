-- Shares of processes that start together.

-- As before (005), but who asks for the first time in a while does so alone: of two processes that
-- started at the same moment neither saw the other, and one of them had all lanes for good.
create or replace function share_v1(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                                    p_pools text[], p_now bigint, p_found int, out share int, out surplus int)
language plpgsql as $$
declare
  v_known process;
  v_askers int;
begin
  select * into v_known from process where id = p_owner for key share;
  if coalesce(v_known.asked_at, 0) <= p_now - 200000 then
    perform pg_advisory_xact_lock(1383031140, 68);
  end if;
  -- A process that was idle for long may have been forgotten.
  if v_known.id is null or v_known.asked_at <= p_now - 60000 or v_known.pools <> p_pools
     or (p_found > 0 and (not v_known.owning or v_known.beat_at <= p_now - 5000)) then
    insert into process (id, beat_at, asked_at, pools, owning, lanes, reaped, host, pid)
    values (p_owner, p_now, p_now, p_pools, p_found > 0, p_mine, p_reaped, p_host, p_pid)
    on conflict (id) do update set asked_at = excluded.asked_at, pools = excluded.pools,
      owning = process.owning or excluded.owning, lanes = excluded.lanes,
      beat_at = case when p_found > 0 then excluded.beat_at else process.beat_at end;
  end if;
  select count(*), ceil((sum(case when id = p_owner then p_mine else lanes end) + p_found) / count(*)::numeric)
    into v_askers, share from process where asked_at > p_now - 200000 and pools && p_pools;
  surplus := 0;
  if v_askers = 1 then
    share := 1000000;
    return;
  end if;
  -- Only those who could take all of them count here: what nobody takes would come back at once.
  select greatest(0, p_mine - ceil(sum(case when id = p_owner then p_mine else lanes end) / count(*)::numeric))
    into surplus from process where asked_at > p_now - 200000 and pools = p_pools;
  if coalesce(v_known.asked_at, 0) <= p_now - 200000 then
    perform notify_v1(jsonb_build_array(jsonb_build_array(null, 0, 0, 0, p_now, 0)));
  end if;
end $$;

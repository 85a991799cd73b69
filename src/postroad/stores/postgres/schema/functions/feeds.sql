-- Messages of feeds are leased by those who read them.

-- Let these messages of a queue be due again after a lease; in an order group they keep their places. Answers which:
-- those that somebody else has leased are left, and with p_whole all are then. A lease before that was not acked was
-- a try.
create or replace function feed_lease(p_queue bigint, p_ids bigint[], p_lease_ms bigint, p_whole boolean)
returns bigint[] language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
  v_free bigint[];
begin
  perform from message where id = any (p_ids) order by id for update;
  v_free := array(
    select m.id from (select id, rung_id from message where id = any (p_ids) and due <= v_now offset 0) m
     where (select r.queue_id = p_queue from rung r where r.id = m.rung_id));
  if p_whole and cardinality(v_free) < cardinality(p_ids) then
    return '{}';
  end if;
  update message m
     set place = case when (select r.order_group from rung r where r.id = m.rung_id) > 0 then m.place
                      else v_now + p_lease_ms end,
         due = v_now + p_lease_ms, attempts = m.attempts + (m.marks > 0)::int, marks = 1
   where m.id = any (v_free);
  return v_free;
end $$;

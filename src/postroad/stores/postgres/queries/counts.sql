-- Messages by state. What arrived and is not yet in its rung waits.
select s.state, coalesce(sum(c.n), 0)::bigint as n
  from unnest(array['waiting', 'held', 'uncertain', 'delivered', 'cancelled', 'dead']) s(state)
  left join (
    select case when r.level < 0 then 'uncertain' when r.blocked_until > t.now then 'held'
                else 'waiting' end as state, m.n
      from (select rung_id, count(*) as n from postroad.message group by 1) m
      join postroad.rung r on r.id = m.rung_id, (select postroad.now_ms() as now) t
    union all select 'waiting', count(*) from postroad.arrival
    union all select state, sum(coalesce(cardinality(ids), 1)) from postroad.history_batch group by 1
    union all select 'dead', count(*) from postroad.dead) c on c.state = s.state
 group by 1

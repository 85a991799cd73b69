-- Messages by state.
select 'waiting', count(*) from message m join rung r on r.id = m.rung_id
 where r.level >= 0 and r.blocked_until <= ?1
union all
select 'held', count(*) from message m join rung r on r.id = m.rung_id
 where r.level >= 0 and r.blocked_until > ?1
union all
select 'uncertain', count(*) from message m join rung r on r.id = m.rung_id where r.level < 0
union all select 'delivered', count(*) from history where state = 'delivered'
union all select 'cancelled', count(*) from history where state = 'cancelled'
union all select 'dead', count(*) from dead

-- A campaign changes its state; its changes are counted.
update campaign set state = ?2, reason = ?3, start_at = case when ?4 > 0 then ?4 else start_at end,
       started_at = case when ?2 = 'running' and started_at = 0 then ?5 else started_at end,
       ended_at = case when ?2 in ('done', 'cancelled') then ?5 else 0 end,
       place = case when ?2 = 'running' then 0 else place end
 where id = ?1 and state in (select value from json_each(?6))

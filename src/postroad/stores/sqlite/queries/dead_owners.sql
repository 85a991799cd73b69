-- Owners of lanes that were not heard from since a time.
select distinct l.owner from lane l left join process p on p.id = l.owner
 where l.owner is not null and coalesce(p.beat_at, 0) <= ?1

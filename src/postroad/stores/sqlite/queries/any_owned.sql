-- Whether any process owns a lane.
select 1 from lane where owner is not null limit 1

-- A limit for a queue that has had none.
insert into pace (queue_id, spec, cost, spacing_us, counted) values (?1, ?2, ?3, ?4, ?5)

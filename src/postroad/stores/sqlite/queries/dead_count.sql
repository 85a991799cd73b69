-- How many dead messages a queue has.
select count(*) from dead where queue_id = ?1

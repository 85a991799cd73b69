-- Nothing is set for a webhook queue any more.
delete from webhook where queue_id = ?1

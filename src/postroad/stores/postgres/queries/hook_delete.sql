-- Nothing is set for a webhook queue any more.
delete from postroad.webhook where queue_id = $1

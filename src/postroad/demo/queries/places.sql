-- Where every message is, finished or not.
select id, 'waiting' from message
union all select id, state from history
union all select id, 'dead' from dead

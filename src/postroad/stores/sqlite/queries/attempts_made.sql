-- How often a live or dead message was tried. A verdict on a try whose owner was lost has counted
-- that try already: it is uncertain, or dead as the killer of its process.
select m.attempts - (r.level < 0) from message m join rung r on r.id = m.rung_id where m.id = ?1
 union all
select attempts - (reason = 'crash_loop') from dead where id = ?1

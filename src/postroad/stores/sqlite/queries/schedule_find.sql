-- A schedule by its name.
select name, cron, tz, decided_to from schedule where name = ?1

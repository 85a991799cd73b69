-- A new schedule counts from now; an old one stays as it is.
insert or ignore into schedule (name, cron, tz, decided_to) values (?1, ?2, ?3, ?4)

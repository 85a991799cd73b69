-- The lanes that a process owns, with their epochs.
select coalesce(json_agg(json_build_array(id, epoch)), '[]') from postroad.lane where owner = $1

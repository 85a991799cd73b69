-- Answer rules, and how often they were met.

-- name: rule_put
-- Store a rule, or replace the one of the same name.
insert into answer_rule (tenant, name, rule, changed)
values (?1, ?2, ?3, max(?4, 1 + coalesce((select max(changed) from answer_rule), 0)))
on conflict do update set rule = excluded.rule, changed = excluded.changed

-- name: rule_delete
-- Delete a rule.
delete from answer_rule where tenant = ?1 and name = ?2 returning 1

-- name: rules_of
-- List the rules of a tenant by name.
select rule from answer_rule where tenant = ?1 order by name

-- name: rules_version
-- Tell whether rules have changed: by their number and the last change.
select count(*), coalesce(max(changed), 0) from answer_rule

-- name: rule_hit
-- Count that a rule was met on a lane, and forget what is older than its time or more than it needs.
insert into rule_hit as h (rule, lane_id, times, ends) values (?1, ?2, json_array(?3), ?3 + ?4)
on conflict do update set ends = excluded.ends, times = (
  select json_group_array(t) from (
    select value as t from json_each(h.times) where value > ?3 - ?4
    union all select ?3 order by 1 desc limit ?5))
returning json_array_length(times)

-- name: rule_hits_forget
-- Delete what no rule counts any more.
delete from rule_hit where ends < ?1

-- name: erase_answer_rule
-- Delete the rules of a tenant.
delete from answer_rule where tenant = ?1

-- name: erase_rule_hit
-- Delete how often the rules of a tenant were met.
delete from rule_hit where rule >= ?1 || '/' and rule < ?1 || '0'

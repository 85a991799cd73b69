-- A new draft.
insert into campaign (tenant, name, credential, spec, created_at) values (?1, ?2, ?3, ?4, ?5)
on conflict (tenant, name) do nothing
